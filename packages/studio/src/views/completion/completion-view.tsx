import type { Route } from '../../route.js';
import './completion.css';

export function CompletionView({ run }: { run: string; step: number; query: Route['query']; index: number }) {
  return <p class="soft">{run}: this view is not there yet.</p>;
}
