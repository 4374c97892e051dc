import type { Random } from './random.mjs'

export function findFreePort(random: Pick<Random, 'below'>): Promise<number>
