export interface Random {
  below(count: number): number
}

export function createRandom(seed: number): Random
