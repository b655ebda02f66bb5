import { availableParallelism, cpus, hostname, release, totalmem, type, version } from 'node:os';
import { Int32, Long } from 'bson';
import { DateTime, type Doc } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';
import type { ReleaseSeries, ServerVersion } from '../node/server-version.js';
import { type NodeIdentity, maxBsonObjectSize } from './node-identity.js';

const bytesPerMegabyte = 1024 * 1024;

/**
 * The commits of the releases (5.0.7 and 8.0.10 from corpus 01-handshake, the others as their own `buildInfo` prints
 * them).
 */
const gitVersions: Readonly<Record<ReleaseSeries, string>> = {
  '4.4': 'f4dda329a99811c707eb06d05ad023599f9be263',
  '5.0': 'b977129dc70eed766cbee7e412d901ee213acbda',
  '6.0': '25225db95574916fecab3af75b184409f8713aef',
  '7.0': '18b949444cfdaa88e30b0e10243bc18268251c1f',
  '8.0': 'nogitversion',
};

/** `buildInfo`: the release, and the parts of the platform that clients may read. Members name their storage engine. */
export function buildInfo({ kind, version }: Pick<NodeIdentity, 'kind' | 'version'>): Doc {
  const versionParts = version.text.split('.').map((part) => new Int32(Number(part)));
  const info = doc(
    ['version', version.text],
    ['gitVersion', gitVersions[version.series]],
    ['modules', []],
    ['allocator', 'system'],
    ['javascriptEngine', 'none'],
    ['sysInfo', 'deprecated'],
    ['versionArray', [...versionParts, new Int32(0)]],
    ['openssl', doc(['running', 'disabled'], ['compiled', 'disabled'])],
    [
      'buildEnvironment',
      doc(['distmod', ''], ['distarch', process.arch], ['target_arch', process.arch], ['target_os', process.platform]),
    ],
    ['bits', new Int32(64)],
    ['debug', false],
    ['maxBsonObjectSize', maxBsonObjectSize],
  );
  return kind === 'router' ? info : info.set('storageEngines', storageEngines(version));
}

/** The test engines disappeared one after the other: `biggie` with 5.0, `ephemeralForTest` with 7.0. */
function storageEngines(version: ServerVersion): string[] {
  if (version.atLeast(7, 0)) return ['devnull', 'wiredTiger'];
  return version.atLeast(5, 0)
    ? ['devnull', 'ephemeralForTest', 'wiredTiger']
    : ['biggie', 'devnull', 'ephemeralForTest', 'wiredTiger'];
}

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
