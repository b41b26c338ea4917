import { useAnswer } from '../../client.js';
import { Answered } from '../../parts/status.js';
import { linkTo } from '../../route.js';
import './run-list.css';

export function RunListView() {
  return (
    <Answered answer={useAnswer('runs', {})}>
      {(runs) => (
        <ul>
          {runs.map(({ id, name }) => (
            <li key={id}>
              <a href={linkTo(['run', id])}>{name}</a>
            </li>
          ))}
        </ul>
      )}
    </Answered>
  );
}
