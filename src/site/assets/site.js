// Only the browser knows for sure under which address it reached the service: what a page tells of it is put right.
for (const place of document.querySelectorAll('[data-base]')) {
  place.textContent = new URL(place.dataset.base, location.href).href.replace(/\/$/, '');
}

// Every block of code gets a button that copies it.
for (const block of navigator.clipboard ? document.querySelectorAll('main pre') : []) {
  const box = document.createElement('div');
  const button = document.createElement('button');
  const said = document.createElement('span');
  box.className = 'code';
  button.className = 'copy';
  button.type = 'button';
  button.append(said);
  said.textContent = 'Copy';
  said.setAttribute('aria-live', 'polite');
  block.replaceWith(box);
  box.append(block, button);
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(block.innerText.trimEnd()).then(
      () => (said.textContent = 'Copied'),
      () => {
        said.textContent = 'Press Ctrl+C';
        getSelection().selectAllChildren(block);
      },
    );
    setTimeout(() => (said.textContent = 'Copy'), 2000);
  });
}

// In a row of pages that scrolls, as on a telephone, the one that is shown is in sight.
for (const here of document.querySelectorAll('.side [aria-current]')) {
  const row = here.closest('.side');
  row.scrollLeft = here.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
}

// By hand, too: Swagger UI keeps links within its page from what they usually do.
document.querySelector('.skip').addEventListener('click', () => document.getElementById('main').focus());
