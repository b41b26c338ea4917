import type { Route } from '../../route.js';
import './step.css';

export function StepView({ run }: { run: string; step: number; query: Route['query'] }) {
  return <p class="soft">{run}: this view is not there yet.</p>;
}
