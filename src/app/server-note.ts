import { placeAdminSocket, removeStaleSocket } from './place-admin-socket.ts'
import type { ServeGround } from './serve-ground.ts'
import { readServerFile, removeServerFile, writeServerFile } from './server-file.ts'

export interface ServerNote {
  /** Where the admin socket belongs. */
  readonly socket: string
  write(url: string | null): Promise<void>
}

/** `server.json`, from the first moment on: who finds the folder locked shall learn by whom. */
export async function openServerNote({ version, pid, settings, closing }: ServeGround): Promise<ServerNote> {
  const { data } = settings.config.storage
  const stale = await readServerFile(data)
  if (stale !== undefined) await removeStaleSocket(data, stale.socket)
  const place = await placeAdminSocket(data)
  closing.add(() => place.remove())
  const note: ServerNote = {
    socket: place.path,
    write: (url) => writeServerFile(data, { pid, url, version, socket: place.path }),
  }
  closing.add(() => removeServerFile(data))
  await note.write(null)
  return note
}
