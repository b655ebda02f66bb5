import { CommandError } from '../../node/command.js';

/**
 * The failure of an update that was converted into a transaction, since its document would move to another shard. The
 * router reports it, also where its routing was stale: the number of the write belongs to the aborted transaction now
 * (server source: cluster_write_cmd, document_shard_key_update_util).
 */
export class ConvertedUpdateError extends CommandError {}
