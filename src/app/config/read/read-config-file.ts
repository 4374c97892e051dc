import { readFileSync } from 'node:fs'
import { TextDecoder } from 'node:util'

export type FileRead =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unreadable'; readonly reason: string }

/** Handed in, so that a test needs no disk and nobody below reads one by surprise. */
export type FileReader = (path: string) => FileRead

/** Text in UTF-8, with or without a byte order mark. */
export const readConfigFile: FileReader = (path) => {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown'
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' }
    return { kind: 'unreadable', reason: REASONS[code] ?? code }
  }
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    return { kind: 'unreadable', reason: 'it is not UTF-8 text' }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'it is a folder',
  EACCES: 'this user may not read it',
  EPERM: 'this user may not read it',
}
