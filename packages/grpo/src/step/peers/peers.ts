import type { Tensor } from '@grpo/torch';

/** The processes that take a step together, each with the whole batch and a share of the work. */
export interface Peers {
  /** Of this process, from 0. */
  readonly rank: number;
  /** How many they are. */
  readonly size: number;
  /** Puts the sum over all processes in place of each tensor: the same bits everywhere. */
  sum(tensors: readonly Tensor[]): Promise<void>;
  /** Puts the values of process 0 in place of each tensor. */
  broadcast(tensors: readonly Tensor[]): Promise<void>;
  /** The bytes that each process gave, by rank. */
  gather(bytes: Uint8Array): Promise<Uint8Array[]>;
  /** Tells the others that this process gets on. */
  progress(): void;
}
