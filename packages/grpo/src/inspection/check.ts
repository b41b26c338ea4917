import type { Outcome } from '../doctor/outcome.js';
import type { Model } from '../models/model.js';

/** What is inspected of a model: all that makes ids of text, and ends a completion. */
export type Renderer = Pick<Model, 'tokenizer' | 'template' | 'endIds'>;

/** One thing that was looked at, and what was found. */
export interface InspectionCheck {
  /** Unique within an inspection. */
  name: string;
  verdict: Outcome['verdict'];
  /** One or two sentences; of a check that could not be made, what is missing. */
  says: string;
  /** What to do about a finding. */
  remedy?: string;
  /** All that was compared, line by line. */
  log: readonly string[];
}
