import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether a text is the secret one. The time that this takes does not depend on how much of it is right. */
export function sameSecret(secret: string, text: string): boolean {
  const [here, there] = [secret, text].map((one) => createHash('sha256').update(one).digest());
  return timingSafeEqual(here!, there!);
}
