import './compare.css';

export function CompareView() {
  return <p class="soft">This view is not there yet.</p>;
}
