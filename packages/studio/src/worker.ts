/** Reads and judges: everything that computes for longer than a frame. */
import './node/globals.js';
import { Studio } from 'grpo/studio';
import { type Disk, disk, mount } from './disk/disk.js';
import { HttpDisk } from './disk/http-disk.js';
import { besideFile, heldFile, heldText, MemoryDisk } from './disk/memory-disk.js';
import { Ranges, ServerLost } from './disk/ranges.js';
import type { Files, FromWorker, ToWorker } from './messages.js';
import { onReading } from './reading-progress.js';

let studio: Studio | undefined;

const post = (message: FromWorker) => globalThis.postMessage(message);

onReading((progress) => post({ kind: 'reading', ...progress }));

globalThis.addEventListener('message', async ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === 'files') {
    mount(diskOf(data.files));
    studio = new Studio((disk().list('/') ?? []).map(({ name }) => `/${name}`));
    return;
  }
  const { id, name, input } = data;
  try {
    if (name === 'refresh') disk().forget((input as { paths: readonly string[] }).paths);
    post({ kind: 'answer', id, output: await studio!.answer(name, input) });
  } catch (error) {
    const { message, hint } = error as Error & { hint?: string };
    const isLost = error instanceof ServerLost;
    post({ kind: 'failure', id, message, isLost, ...(hint !== undefined && { hint }) });
  }
});

function diskOf(files: Files): Disk {
  switch (files.kind) {
    case 'server':
      return new HttpDisk();
    case 'held':
      return new MemoryDisk(
        files.files.map(({ path, size, modified, text }) => heldText(path, size, modified, text)),
      );
    case 'beside': {
      const ranges = new Ranges((path) => files.base + path.split('/').map(encodeURIComponent).join('/'));
      return new MemoryDisk(
        files.files.map(({ path, size, modified }) => besideFile(path, size, modified, ranges)),
      );
    }
    case 'dropped':
      return new MemoryDisk(files.files.map(({ path, file }) => heldFile(path, file)));
  }
}
