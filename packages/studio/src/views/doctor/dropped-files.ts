/** Files that were dropped or chosen, with paths as the page names them. */

export interface DroppedFile {
  path: string;
  file: File;
}

/** Folders are walked to their ends. */
export async function filesOfDrop({ items }: DataTransfer): Promise<readonly DroppedFile[]> {
  // The list is empty once the event is over.
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  return (await Promise.all(entries.map(filesBelow))).flat();
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
