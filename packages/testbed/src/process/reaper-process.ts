import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * Outlives its parent briefly: reads one JSON line per process or folder on standard input. When the parent is gone
 * (the pipe closes), it kills and removes what is still listed.
 */
const pids = new Set<number>();
const folders = new Set<string>();

interface Entry {
  action: 'add' | 'remove';
  pid?: number;
  folder?: string;
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { action, pid, folder } = JSON.parse(line) as Entry;
  if (pid !== undefined) pids[action === 'add' ? 'add' : 'delete'](pid);
  if (folder !== undefined) folders[action === 'add' ? 'add' : 'delete'](folder);
});
lines.on('close', () => {
  for (const pid of pids) kill(pid);
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
});

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended in the meantime.
  }
}
