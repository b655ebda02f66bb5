import { Int32, Long } from 'bson';
import { availableParallelism, cpus, hostname, release, totalmem, type, version } from 'node:os';
import { DateTime, type Doc } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';
import type { NodeIdentity } from './node-identity.js';

const bytesPerMegabyte = 1024 * 1024;

/** The machine's name with the node's port, as the server names itself in diagnostics. */
export function diagnosticHost(identity: NodeIdentity): string {
  return `${hostname()}:${identity.port}`;
}

/** `hostInfo`: the machine this process runs on. */
export function hostInfo(identity: NodeIdentity): Doc {
  const memory = Long.fromNumber(Math.floor(totalmem() / bytesPerMegabyte));
  const cores = cpus();
  const knowsSockets = identity.version.atLeast(8, 0);
  return doc(
    [
      'system',
      doc(
        ['currentTime', new DateTime(BigInt(Date.now()))],
        ['hostname', diagnosticHost(identity)],
        ['cpuAddrSize', new Int32(64)],
        ['memSizeMB', memory],
        ['memLimitMB', memory],
        ['numCores', new Int32(cores.length)],
        ...(knowsSockets
          ? ([
              ['numCoresAvailableToProcess', new Int32(availableParallelism())],
              ['numPhysicalCores', new Int32(cores.length)],
              ['numCpuSockets', new Int32(1)],
            ] as [string, Int32][])
          : []),
        ['cpuArch', process.arch],
        ['numaEnabled', false],
        ...(knowsSockets ? ([['numNumaNodes', new Int32(1)]] as [string, Int32][]) : []),
      ),
    ],
    ['os', doc(['type', type()], ['name', version()], ['version', `Kernel ${release()}`])],
    [
      'extra',
      doc(
        ['versionString', version()],
        ['kernelVersion', release()],
        ['cpuFrequencyMHz', String(cores[0]?.speed ?? 0)],
      ),
    ],
  );
}
