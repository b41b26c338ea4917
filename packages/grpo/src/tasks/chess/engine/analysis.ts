/** An engine's analysis of positions. */

/** A move that an engine considers. */
export interface Line {
  /** In UCI. */
  move: string;
  /** For the side to move; a mate in n moves is 10,000 − n, being mated is the negative of it. */
  centipawns: number;
}

/** Judges positions, given as FEN. */
export interface Analyst {
  /** The best moves, five at most, best first; none where the game is over. */
  best(fen: string): Promise<readonly Line[]>;
  /** Value of the position for the side to move, in centipawns. */
  value(fen: string): Promise<number>;
}
