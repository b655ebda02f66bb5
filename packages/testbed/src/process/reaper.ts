import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The compiled script: the same path whether this file runs from `src` (tests) or from `dist`. */
const script = fileURLToPath(new URL('../../dist/process/reaper-process.js', import.meta.url));

let reaper: ChildProcess | undefined;

/** Kills the process when this one ends in any way, even by SIGKILL. */
export function reapProcess(pid: number): void {
  send({ action: 'add', pid });
}

/** Removes an ended process from the list, so that a later process with its id survives. */
export function forgetProcess(pid: number): void {
  send({ action: 'remove', pid });
}

/** Removes the folder when this process ends in any way. */
export function reapFolder(folder: string): void {
  send({ action: 'add', folder });
}

/** Keeps the folder after all. */
export function forgetFolder(folder: string): void {
  send({ action: 'remove', folder });
}

function send(entry: { action: 'add' | 'remove'; pid?: number; folder?: string }): void {
  reaper ??= start();
  reaper.stdin?.write(`${JSON.stringify(entry)}\n`);
}

/** Detached, so that Ctrl-C in the terminal does not end it before its work is done. */
function start(): ChildProcess {
  const child = spawn(process.execPath, [script], { detached: true, stdio: ['pipe', 'ignore', 'inherit'] });
  child.unref();
  // A pipe to a child process is a socket, which unlike other streams need not keep this process alive.
  (child.stdin as unknown as { unref(): void }).unref();
  return child;
}
