import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The compiled script: the same path whether this file runs from `src` (tests) or from `dist`. */
const script = fileURLToPath(new URL('../../dist/process/reaper-process.js', import.meta.url));

let reaper: ChildProcess | undefined;

/** Has the process killed when this one ends in whatever way, SIGKILL included. */
export function reapProcess(pid: number): void {
  send({ action: 'add', pid });
}

/** Takes a process that has ended off the list, so that no later process with its number is hit. */
export function forgetProcess(pid: number): void {
  send({ action: 'remove', pid });
}

/** Has the folder removed when this process ends in whatever way. */
export function reapFolder(folder: string): void {
  send({ action: 'add', folder });
}

/** Leaves the folder in place after all. */
export function forgetFolder(folder: string): void {
  send({ action: 'remove', folder });
}

function send(entry: { action: 'add' | 'remove'; pid?: number; folder?: string }): void {
  reaper ??= start();
  reaper.stdin?.write(`${JSON.stringify(entry)}\n`);
}

/** Detached, so that Ctrl-C in the terminal does not reach it before its work is done. */
function start(): ChildProcess {
  const child = spawn(process.execPath, [script], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] });
  child.unref();
  // A pipe to a child process is a socket, which unlike other streams can be left out of what keeps this process alive.
  (child.stdin as unknown as { unref(): void }).unref();
  return child;
}
