import type { Route } from '../../route.js';
import './curves.css';

export function CurvesView({ run }: { run: string; query: Route['query'] }) {
  return <p class="soft">{run}: this view is not there yet.</p>;
}
