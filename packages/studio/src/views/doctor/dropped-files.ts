/** Files that were dropped or chosen, with paths as the page names them. */

export interface DroppedFile {
  path: string;
  file: File;
}

/** Chromium gives handles, which unlike entries are readable where the page itself is a file. */
interface HandleItem extends DataTransferItem {
  getAsFileSystemHandle?(): Promise<FolderHandle>;
}

interface FolderHandle {
  values(): AsyncIterable<
    { name: string } & (({ kind: 'directory' } & FolderHandle) | { kind: 'file'; getFile(): Promise<File> })
  >;
}

/** Folders are walked to their ends. */
export async function filesOfDrop({ items }: DataTransfer): Promise<readonly DroppedFile[]> {
  // The list is empty once the event is over.
  const found = [...items].map((item: HandleItem) => {
    const entry = item.webkitGetAsEntry();
    const file = item.getAsFile();
    if (!entry?.isDirectory) return file ? [{ path: `/${file.name}`, file }] : [];
    return item.getAsFileSystemHandle
      ? item.getAsFileSystemHandle().then((handle) => filesIn(handle, entry.fullPath))
      : filesBelow(entry);
  });
  return (await Promise.all(found)).flat();
}

async function filesIn(folder: FolderHandle, path: string): Promise<DroppedFile[]> {
  const files: DroppedFile[] = [];
  for await (const one of folder.values()) {
    const below = `${path}/${one.name}`;
    if (one.kind === 'file') files.push({ path: below, file: await one.getFile() });
    else files.push(...(await filesIn(one, below)));
  }
  return files;
}

async function filesBelow(entry: FileSystemEntry): Promise<DroppedFile[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject),
    );
    return [{ path: entry.fullPath, file }];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const inside: FileSystemEntry[] = [];
  for (;;) {
    // A reader gives a hundred entries at a time, and none at the end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) break;
    inside.push(...some);
  }
  return (await Promise.all(inside.map(filesBelow))).flat();
}

/** Files of a chosen folder keep their paths in it. */
export const filesOfPicker = (files: FileList): readonly DroppedFile[] =>
  [...files].map((file) => ({ path: `/${file.webkitRelativePath || file.name}`, file }));
