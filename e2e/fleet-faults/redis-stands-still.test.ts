import { testLostRedis } from './lost-redis.js';

testLostRedis('stands still for a time', 20_000);
