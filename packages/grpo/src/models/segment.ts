/** A run of tokens: it sees all of its parent, which lies before it, and itself up to each token. */
export interface Segment {
  ids: readonly number[];
  /** Index of the segment that this one continues, such as a group's prompt. */
  parent?: number;
}

/** Where a segment lies among the packed tokens. */
export interface Span {
  start: number;
  length: number;
  parent: Span | undefined;
}
