import { spawn } from 'node:child_process';

const OPENERS: Partial<Record<NodeJS.Platform, string>> = { darwin: 'open', win32: 'explorer' };

/** Opens a link in the user's browser. */
export function openBrowser(url: string, note: (text: string) => void): void {
  const opener = OPENERS[process.platform] ?? 'xdg-open';
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true });
  child.on('error', ({ message }) =>
    note(`No browser could be opened (${message}): open the link yourself.`),
  );
  child.unref();
}
