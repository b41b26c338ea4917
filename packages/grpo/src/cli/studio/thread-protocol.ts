import type { GivenPath } from './given-paths.js';
import type { Page } from './page.js';

/** What the thread of a run's page begins with. Any message to it is the order to end. */
export interface ThreadStart {
  given: readonly GivenPath[];
  page: Page;
}

/** What it tells the run's thread, which alone can print. */
export type ThreadMessage = { kind: 'ready'; url: string } | { kind: 'note'; text: string };
