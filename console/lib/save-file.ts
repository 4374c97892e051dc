/** Hands a file that is here to whoever sits there. */
export function saveFile(file: File): void {
  const address = URL.createObjectURL(file)
  const link = document.createElement('a')
  Object.assign(link, { href: address, download: file.name })
  link.click()
  URL.revokeObjectURL(address)
}
