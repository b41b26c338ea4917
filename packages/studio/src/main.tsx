import { render } from 'preact';
import { App } from './app.js';
import { useFiles } from './client.js';
import { filesInside } from './held-files.js';
import { listen } from './live.js';
import './style.css';

const held = filesInside(document);
const isServed = !held && globalThis.location.protocol.startsWith('http');
useFiles(held ?? (isServed ? { kind: 'server' } : { kind: 'held', files: [] }));
if (isServed) listen();

const page = document.getElementById('page')!;
page.replaceChildren();
render(<App hasFiles={isServed || (held?.files.length ?? 0) > 0} />, page);
