import { CommandError } from '../../node/command.js';

/**
 * The failure of an update that was converted into a transaction, since its document would move to another shard. The
 * router returns it and does not retry, even after stale routing: an aborted transaction may have used the write's
 * number (server source: cluster_write_cmd, document_shard_key_update_util).
 */
export class ConvertedUpdateError extends CommandError {}
