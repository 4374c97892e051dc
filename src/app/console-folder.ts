import { fileURLToPath } from 'node:url'

/** Where the build puts it, seen from the sources and from `dist` alike. */
export const CONSOLE_FOLDER = fileURLToPath(new URL('../../dist/console', import.meta.url))
