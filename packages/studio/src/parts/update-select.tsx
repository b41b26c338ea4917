import { setQuery } from '../route.js';

interface UpdateSelectProps {
  label: string;
  update: number;
  updates: number;
}

/** Chooses one of the updates of a step; the address keeps it. */
export const UpdateSelect = ({ label, update, updates }: UpdateSelectProps) => (
  <label>
    {label}{' '}
    <select value={update} onChange={({ currentTarget }) => setQuery({ update: currentTarget.value })}>
      {Array.from({ length: updates }, (_, i) => (
        <option key={i} value={i}>
          {i + 1} of {updates}
        </option>
      ))}
    </select>
  </label>
);
