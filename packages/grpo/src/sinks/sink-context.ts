import type { Cursor } from './cursor.js';

/** The run that a sink is opened for. */
export interface SinkContext {
  /** Of the run. */
  folder: string;
  cursor: Cursor;
  /** Steps that the run had done when it was begun or resumed: later ones are done again. */
  done: number;
}
