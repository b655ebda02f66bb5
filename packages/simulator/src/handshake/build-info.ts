import { Int32 } from 'bson';
import type { Doc } from '../bson/value.js';
import { doc } from '../node/doc-fields.js';
import { maxBsonObjectSize, type NodeIdentity } from './node-identity.js';

/** The commit of the release, as `buildInfo` of 5.0.7 names it (corpus: 01-handshake). */
const gitVersion = 'b977129dc70eed766cbee7e412d901ee213acbda';

/** `buildInfo`: the release and what of the platform a client may look at; members name their storage engine. */
export function buildInfo({ kind, version }: Pick<NodeIdentity, 'kind' | 'version'>): Doc {
  const versionParts = version.text.split('.').map((part) => new Int32(Number(part)));
  const info = doc(
    ['version', version.text],
    ['gitVersion', gitVersion],
    ['modules', []],
    ['allocator', 'system'],
    ['javascriptEngine', 'none'],
    ['sysInfo', 'deprecated'],
    ['versionArray', [...versionParts, new Int32(0)]],
    ['openssl', doc(['running', 'disabled'], ['compiled', 'disabled'])],
    ['buildEnvironment', doc(['distmod', ''], ['distarch', process.arch], ['target_arch', process.arch], ['target_os', process.platform])],
    ['bits', new Int32(64)],
    ['debug', false],
    ['maxBsonObjectSize', maxBsonObjectSize],
  );
  return kind === 'router' ? info : info.set('storageEngines', ['devnull', 'ephemeralForTest', 'wiredTiger']);
}
