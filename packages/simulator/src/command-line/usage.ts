/** What `--help` prints. */
export const usage = `Usage: simulator [options]

Runs a simulated MongoDB cluster on ports of this machine until it is stopped. Its data is in memory only.

  --shards N                    shards of the cluster, 1 to 64 (default 2)
  --routers N                   routers of the cluster, 1 to 16 (default 1)
  --replica-set                 a plain replica set of one member instead of a cluster
  --version V                   release that it behaves as: 4.4, 5.0, 6.0, 7.0 or 8.0 (default 8.0)
  --auth                        with access control; the first user is made from this machine without a login
  --port P                      first router P, config server P+1, shards from P+2, then further routers;
                                0, the default, takes any free ports
  --host H                      where its servers listen, and by which name clients reach them (default 127.0.0.1)
  --oplog-bytes N               bytes of oplog that each shard keeps
  --snapshot-window-seconds N   seconds that snapshot reads reach back
  --memory-mb N                 most memory the data may take, in megabytes (default 4096)
  --watch-stdin                 stop when standard input closes, as a child process should; each line of it orders
                                a fault, e.g. {"stop":"shard0"}, and is answered by one line of JSON
  --json                        print one JSON line when ready, as is done when the output is no terminal
  --help                        print this
`;
