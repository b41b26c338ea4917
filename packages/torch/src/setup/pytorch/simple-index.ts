import type { Missing } from '../layout.js';
import { pinnedTorch } from './pinned.js';

/** A file that a package index offers. */
export interface IndexFile {
  name: string;
  /** Without its fragment. */
  url: string;
  /** In lower-case hexadecimal, where the index states it. */
  sha256?: string;
}

const machines: Partial<Record<NodeJS.Platform, Partial<Record<NodeJS.Architecture, string>>>> = {
  linux: { x64: 'x86_64', arm64: 'aarch64' },
  darwin: { arm64: 'arm64' },
};

/** Reads a project's page of a package index (PEP 503): its links, with the checksums in their fragments. */
export function readIndexPage(html: string, page: string): IndexFile[] {
  const links = html.matchAll(/<a\s[^>]*?href\s*=\s*(?:"([^"]*)"|'([^']*)')/gi);
  return [...links].flatMap(([, double, single]) => {
    const href = (double ?? single ?? '').replaceAll('&#43;', '+').replaceAll('&amp;', '&');
    if (!URL.canParse(href, page)) return [];
    const url = new URL(href, page);
    const sha256 = url.hash.match(/^#sha256=([0-9a-f]{64})$/i)?.[1]?.toLowerCase();
    url.hash = '';
    const name = url.pathname.split('/').at(-1)!.replace(/%2b/gi, '+');
    return [{ name, url: url.href, sha256 }];
  });
}

/**
 * The wheel of the pinned PyTorch for a machine, of any Python: only its C++ half is used. On Linux the CPU build;
 * the default one needs NVIDIA's libraries, which come in a dozen other wheels.
 */
export function chooseWheel(
  files: IndexFile[],
  platform: NodeJS.Platform = process.platform,
  arch: NodeJS.Architecture = process.arch,
): Required<IndexFile> | Missing {
  const version = platform === 'linux' ? `${pinnedTorch}+cpu` : pinnedTorch;
  const machine = machines[platform]?.[arch];
  if (!machine) return { why: `there is no PyTorch ${pinnedTorch} for ${platform} ${arch}` };
  const system = platform === 'darwin' ? 'macosx' : '(?:many)?linux';
  const tag = new RegExp(`[-.]${system}\\w*_${machine}[.](?:.*[.])?whl$`);
  const fitting = files.filter(({ name }) => name.startsWith(`torch-${version}-`) && tag.test(name));
  if (fitting.length === 0) return { why: `it has no wheel of torch ${version} for ${platform} ${arch}` };
  for (const { name, url, sha256 } of fitting) if (sha256) return { name, url, sha256 };
  return { why: `it gives no SHA-256 for ${fitting[0]!.name}` };
}
