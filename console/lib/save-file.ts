/** Some browsers begin to read a file only after the click is over. */
const KEPT_MS = 60_000

/** Hands a file that is here to whoever sits there. */
export function saveFile(file: File): void {
  const address = URL.createObjectURL(file)
  const link = document.createElement('a')
  Object.assign(link, { href: address, download: file.name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), KEPT_MS)
}
