/** After a destination was emptied and processes were started, the servers are busy for about this time. */
export const settle_ms = 1_500;
