import './doctor.css';

export function DoctorView() {
  return <p class="soft">This view is not there yet.</p>;
}
