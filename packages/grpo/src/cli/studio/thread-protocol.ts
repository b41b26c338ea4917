import type { GivenPath } from './given-paths.js';
import type { Page } from './page.js';

/** The start of the thread that serves a run's page. Any message to it is the order to end. */
export interface ThreadStart {
  given: readonly GivenPath[];
  page: Page;
}

/** A message to the run's thread, which alone can print. */
export type ThreadMessage = { kind: 'ready'; url: string } | { kind: 'note'; text: string };
