import { delimiter, join } from 'node:path'
import { isProgram } from '../../program/is-program.mjs'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** The installed browser, or undefined. Tests never download one. */
export function findChromium({ CHROMIUM, PATH = '' }) {
  const folders = PATH.split(delimiter).filter((folder) => folder !== '')
  const places = folders.flatMap((folder) => NAMES.map((name) => join(folder, name)))
  return [CHROMIUM, ...places].find((path) => path !== undefined && path !== '' && isProgram(path))
}
