// Names the bubbles of a main job that reports compute chunks: every pause between two chunks of an
// iteration is a bubble, and what kind of bubble it is follows from the order of chunks.
//
//   iteration   F    F    F    B    B    B    O     iteration
//   begins   |0 |  1 |  2 |  3 |  4 |  5 |  6 |  7   ends
//            head         middle               tail        all others: scattered
//
// Bubble k is the one after k chunks; k is its ordinal. `middle` is the bubble before the first
// backward chunk, when forward chunks came before it. Neither `middle` nor `tail` can be known
// while they begin, so both are taken from the order learned before. An order is learned from the
// first complete iteration and replaced by another one that two complete iterations in a row had:
// one evaluation step in between renames nothing. Until an order is learned all bubbles but the
// head are scattered.
//
// Where nothing lies between the tail and the head of the next iteration they are one bubble, a
// tail. That can be told of iterations whose order is the learned one and holds an optimizer chunk:
// all of it is done, and the iteration's work on the device with it.
//
// Pure.
#ifndef CLIENT_MAIN_JOB_CHUNK_ORDER_H_
#define CLIENT_MAIN_JOB_CHUNK_ORDER_H_

#include <cstdint>

#include "client/pages/signal_page.h"
#include "client/pipefill.h"

namespace pipefill::sdk {

class ChunkOrder {
 public:
  // Forgets the chunks of an iteration that did not end.
  void StartIteration();
  // `kind` is one of PF_CHUNK_*.
  void AddChunk(int kind);
  // The iteration is complete.
  void EndIteration();

  // Whether the bubble after the last chunk goes on over the end of the iteration. Ask before
  // EndIteration.
  bool joins_next_head() const {
    return is_learned_ && learned_.has_optimizer && current_ == learned_;
  }

  // PackBubbleName of the bubble that begins now.
  uint32_t bubble_name() const;

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // All that naming needs to know of an order, however long it is.
  struct Shape {
    uint32_t chunks = 0;
    uint32_t middle = kNone;  // number of the bubble before the first backward chunk
    bool has_optimizer = false;
    bool operator==(const Shape&) const = default;
  };

  BubbleClass Classify(uint32_t number) const;

  bool is_learned_ = false;
  Shape learned_;
  Shape last_complete_;
  Shape current_;
  bool has_forward_ = false;
  bool has_backward_ = false;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_MAIN_JOB_CHUNK_ORDER_H_
