import type { Route } from '../../route.js';
import './findings.css';

export function FindingsView({ run }: { run: string; query: Route['query'] }) {
  return <p class="soft">{run}: this view is not there yet.</p>;
}
