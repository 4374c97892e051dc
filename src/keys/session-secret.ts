import type { RandomBytes } from '../lib/random-id.ts'
import { encodeBase62, SECRET_LENGTH } from './key-secret.ts'

/** It shows what it is, so that a log that it gets into can hide it, and nobody takes it for an API key. */
const PREFIX = 'mr_session_'
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH}}$`)

/** 256 random bits: what a browser is known by while it is signed in. */
export const mintSessionSecret = (random: RandomBytes): string => PREFIX + encodeBase62(random(32), SECRET_LENGTH)

/** What certainly is none need not be looked up. */
export const isSessionSecret = (text: string): boolean =>
  text.length === PREFIX.length + SECRET_LENGTH && SHAPE.test(text)
