import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { writePrivately } from './write-privately.ts'

const serverFacts = z.object({
  pid: z.number().int().positive(),
  /** Without a path, e.g. `http://127.0.0.1:4600`; null while the server is starting. */
  url: z.string().nullable(),
  version: z.string(),
  socket: z.string(),
})

/** What a server says about itself in `server.json`, for commands that look for it. */
export type ServerFacts = z.infer<typeof serverFacts>

const pathIn = (data: string): string => join(data, 'server.json')

export const writeServerFile = (data: string, facts: ServerFacts): Promise<void> =>
  writePrivately(pathIn(data), `${JSON.stringify(facts)}\n`)

/** Undefined when there is none, or none that can be read: both mean that no server is known. */
export async function readServerFile(data: string): Promise<ServerFacts | undefined> {
  try {
    return serverFacts.parse(JSON.parse(await readFile(pathIn(data), 'utf8')))
  } catch {
    return undefined
  }
}

export const removeServerFile = (data: string): Promise<void> => rm(pathIn(data), { force: true })
