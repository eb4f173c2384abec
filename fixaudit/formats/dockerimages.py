"""What is known of public base images, as dated data: who their processes run as, and which user they bring.

Read on 2026-11-30 from the images' own pages and Dockerfiles: hub.docker.com official images (node, nginx, php, httpd,
redis, postgres …), github.com/GoogleContainerTools/distroless (users `root` 0, `nonroot` 65532), edu.chainguard.dev
(images run as 65532), github.com/nginx/docker-nginx-unprivileged (101), bun.sh and deno.com image pages,
learn.microsoft.com (.NET 8 and later bring `app`). An image that is not listed is unknown, never guessed.
This module must not know of Dockerfiles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Repository (without docker.io/ and library/) → user that exists in every tag of the image and may own a program.
USERS_OF_IMAGES = {
    "node": "node",
    "oven/bun": "bun",
    "denoland/deno": "deno",
    "nginx": "nginx",
    "nginxinc/nginx-unprivileged": "nginx",
    "httpd": "www-data",
    "php": "www-data",
    "redis": "redis",
    "postgres": "postgres",
    "mcr.microsoft.com/dotnet/aspnet": "app",
    "mcr.microsoft.com/dotnet/runtime": "app",
    "mcr.microsoft.com/playwright": "pwuser",
}
# Prefixes of repositories whose images start as a user other than root.
_NONROOT_PREFIXES = ("cgr.dev/", "dhi.io/", "bitnami/", "public.ecr.aws/bitnami/", "registry.access.redhat.com/ubi")
_NONROOT_REPOSITORIES = frozenset(
    {
        "nginxinc/nginx-unprivileged",
        "ghcr.io/nginx/nginx-unprivileged",
        "public.ecr.aws/nginx/nginx-unprivileged",
        "ghcr.io/puppeteer/puppeteer",
        "quay.io/keycloak/keycloak",
        "grafana/grafana",
        "prom/prometheus",
        "jenkins/jenkins",
    }
)
# The plain base images of the registry above start as root; only the language images (`ubi9/nodejs-22`) do not.
_RED_HAT_PLAIN = re.compile(r"registry\.access\.redhat\.com/ubi\d+(?:/ubi.*|-minimal|-micro|-init)?\Z")
_NONROOT_TAG = re.compile(r"(?:\A|[-_.])(?:nonroot|rootless|unprivileged)(?:\Z|[-_.])")


@dataclass(frozen=True, slots=True)
class Image:
    """A reference to an image: `repository` as written (registry included), `tag` and `digest` or None."""

    repository: str
    tag: str | None
    digest: str | None

    @property
    def name(self) -> str:
        """The repository without Docker Hub's own prefixes: `docker.io/library/node` is `node`."""
        return re.sub(r"\A(?:(?:index\.)?docker\.io/)?(?:library/)?", "", self.repository)

    @property
    def pinned(self) -> bool:
        """Whether a digest, or a tag other than `latest`, says which image is meant."""
        return self.digest is not None or (self.tag is not None and self.tag != "latest")


def parse_image(reference: str) -> Image:
    """Split `registry:port/path:tag@digest`."""
    rest, _, digest = reference.partition("@")
    head, slash, last = rest.rpartition("/")
    name, colon, tag = last.partition(":")
    return Image(head + slash + name, tag if colon else None, digest or None)


def starts_nonroot(image: Image) -> bool | None:
    """Say whether processes of the image run as another user than root: True when known, None when unknown."""
    if image.name in _NONROOT_REPOSITORIES or (image.tag and _NONROOT_TAG.search(image.tag)):
        return True
    if _NONROOT_TAG.search(image.name.rpartition("/")[2]):
        return True
    if image.name.startswith(_NONROOT_PREFIXES) and not _RED_HAT_PLAIN.match(image.name):
        return True
    return None


def known_user(image: Image) -> str | None:
    """Return a user other than root that the image is known to bring, None when there is none or it is unknown."""
    if image.name.startswith("gcr.io/distroless/"):
        return "nonroot"
    return USERS_OF_IMAGES.get(image.name)
