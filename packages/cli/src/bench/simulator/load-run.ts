import { fileURLToPath } from 'node:url';
import { Child } from '@convoy/testbed/process/child';
import type { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { runMeasured } from '../measured-process.js';
import type { LoadOrder, LoadReport, LoadStep, StepResult } from './load-order.js';

const echoScript = fileURLToPath(new URL('./echo-process.js', import.meta.url));
const loadScript = fileURLToPath(new URL('./load-process.js', import.meta.url));

const echoReadyWithin_ms = 30_000;
const loadLimit_ms = 900_000;

/** Runs an order in a separate process; returns one result per step. */
export async function runOrder(folder: ScratchFolder, order: LoadOrder): Promise<StepResult[]> {
  const { measured } = await runMeasured<LoadReport>({
    name: 'load',
    script: loadScript,
    order,
    limit_ms: loadLimit_ms,
    logFile: folder.file('load.log'),
  });
  return measured;
}

/** The same steps against the bare echo. */
export async function runEcho(folder: ScratchFolder, documents: number, steps: LoadStep[]): Promise<StepResult[]> {
  await using echo = await Child.start({
    name: 'echo',
    command: process.execPath,
    args: [echoScript, String(documents)],
    ready: /^echo on (\d+)$/,
    readyWithin_ms: echoReadyWithin_ms,
    logFile: folder.file('echo.log'),
  });
  const connectionString = `mongodb://127.0.0.1:${echo.ready[1] ?? ''}/`;
  return await runOrder(folder, {
    connectionString,
    shardConnectionString: connectionString,
    serverPid: echo.pid,
    documents,
    steps,
  });
}
