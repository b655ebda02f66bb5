import { scanPath } from '../bson/scan.js';
import { doc, numberOf } from '../node/doc-fields.js';
import type { ServerVersion } from '../node/server-version.js';
import type { ShardAccess } from '../shard/shard-access.js';

const bytesPerMegabyte = 1024 * 1024;

/** Bytes of a chunk, or of a balanced range: as `config.settings` says, or the release's default. */
export function chunkBytes(configServer: Pick<ShardAccess, 'findByKey'>, version: ServerVersion): number {
  const setting = configServer.findByKey('config.settings', doc(['_id', 'chunksize']));
  const megabytes = setting === undefined ? undefined : numberOf(scanPath(setting, 'value'));
  return megabytes === undefined ? version.chunkBytesMax : megabytes * bytesPerMegabyte;
}
