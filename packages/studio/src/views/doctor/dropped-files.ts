/** Files that were dropped or chosen, with paths as the page names them. */

export interface DroppedFile {
  path: string;
  file: File;
}

/** Folders are walked to their ends. What lies in no file system, as in a letter, is a file alone. */
export async function filesOfDrop({ items }: DataTransfer): Promise<readonly DroppedFile[]> {
  // The list is empty once the event is over.
  const found = [...items].map((item) => ({ entry: item.webkitGetAsEntry(), file: item.getAsFile() }));
  const files = found.map(({ entry, file }) =>
    entry ? filesBelow(entry) : file ? [{ path: `/${file.name}`, file }] : [],
  );
  return (await Promise.all(files)).flat();
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

/** Those of a folder have their paths in it. */
export const filesOfPicker = (files: FileList): readonly DroppedFile[] =>
  [...files].map((file) => ({ path: `/${file.webkitRelativePath || file.name}`, file }));
