import { createHmac } from 'node:crypto'

/**
 * What is stored of a key. The pepper lies outside the database, so that a stolen copy of it cannot even be used to check
 * a guess; a slow hash is for passwords, and 256 random bits are none.
 */
export const digestKey = (pepper: Uint8Array, token: string): Buffer =>
  createHmac('sha256', pepper).update(token).digest()
