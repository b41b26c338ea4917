// Operators of a decode step are short, and each would wake the threads anew: a thread that sleeps is woken late, and
// where others want the cores it sleeps between any two. So they only say what is to be done, and one team does it all:
// as soon as somebody reads a tensor or, where calls are known to follow one another, while they are made.
#pragma once
#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>

namespace grpo {

// Parts of an operator's work, each independent of the others.
struct Stage {
  int64_t count;
  // Parts that are worth a thread's waking.
  int64_t grain;
  // Holds the tensors that it reads and writes.
  std::function<void(int64_t begin, int64_t end)> run;
};

// Performs the stage later, behind those added before, or at once where `bytes`, which it writes, make it too many that
// wait: they are to be read again from the nearer caches.
void addStage(Stage stage, int64_t bytes);

// Performs what this thread has added. To be called before a tensor's numbers are read or written by others.
void performStages();

// Makes calls that add stages, which other threads perform meanwhile, and performs what is left.
void performWhile(const std::function<void()>& adds);

// Whether stages may wait while this operator of libtorch's dispatcher is called: it adds its own, or touches no
// number.
bool letsStagesWait(const std::string& operatorName);

}  // namespace grpo
