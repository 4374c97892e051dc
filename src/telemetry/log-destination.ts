import { destination } from 'pino'

/** A reader that has stalled: from here on lines are dropped, counted and reported; answers never wait for a log. */
const BUFFERED_BYTES_MAX = 8 * 1024 * 1024
const CLOSE_WAIT_MS = 2_000

export interface LogDestination {
  write(line: string): void
  flush(): void
  /** Resolves when everything is written, or when the reader has gone or does not read any more. */
  close(): Promise<void>
}

export interface DestinationOptions {
  /** A file descriptor (1 is stdout, 2 is stderr) or the path of a file. */
  readonly to: number | string
  /** Lines wait until about so many bytes have come together, but never longer than `flushEveryMs`; 0 writes at once. */
  readonly gatherBytes: number
  readonly flushEveryMs: number
  /** Told how many lines were lost, as soon as the reader takes lines again. */
  readonly onDropped: (lines: number) => void
}

/** Writes behind the requests' backs: a line costs them a string in a buffer, not a system call. */
export function openLogDestination(options: DestinationOptions): LogDestination {
  const stream = destination({
    dest: options.to,
    sync: false,
    minLength: 0,
    maxLength: BUFFERED_BYTES_MAX,
  })
  // Gathered here, because the stream would count the bytes of all that it has gathered at every line.
  let gathered = ''
  let timer: NodeJS.Timeout | undefined
  const pass = () => {
    clearTimeout(timer)
    timer = undefined
    const text = gathered
    gathered = ''
    if (text !== '' && !broken) stream.write(text)
  }
  // Whoever ends the process without closing first loses nothing either.
  const passAtExit = () => {
    pass()
    if (!broken) stream.flushSync()
  }
  process.once('exit', passAtExit)
  let dropped = 0
  let broken = false
  // A full disk or a closed pipe costs the log, never an answer. The disk may get room again; the pipe is gone for good.
  stream.on('error', (error: NodeJS.ErrnoException) => {
    broken ||= error.code === 'EPIPE'
  })
  stream.on('drop', (text: string) => {
    dropped += text.split('\n').length - 1
  })
  stream.on('drain', () => {
    if (dropped === 0) return
    const lines = dropped
    dropped = 0
    options.onDropped(lines)
  })
  return {
    write: (line) => {
      gathered += line
      if (gathered.length >= options.gatherBytes) pass()
      else timer ??= setTimeout(pass, options.flushEveryMs).unref()
    },
    flush: () => {
      pass()
      if (!broken) stream.flush()
    },
    close: () => {
      pass()
      process.off('exit', passAtExit)
      if (broken) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, CLOSE_WAIT_MS)
        const done = () => {
          clearTimeout(timer)
          resolve()
        }
        stream.once('close', done)
        stream.once('error', done)
        stream.end()
      })
    },
  }
}
